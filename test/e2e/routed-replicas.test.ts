import { routedReplicaScenarios } from './routed-replicas.scenario.ts';

routedReplicaScenarios();
