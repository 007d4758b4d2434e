import { replicaScenarios } from '../e2e/replicas.scenario.ts';

replicaScenarios();
