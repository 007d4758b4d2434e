import { replicaScenarios } from './replicas.scenario.ts';

replicaScenarios();
