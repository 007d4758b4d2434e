import { routedReplicaScenarios } from '../e2e/routed-replicas.scenario.ts';

routedReplicaScenarios();
