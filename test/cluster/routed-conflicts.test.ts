import { routedConflictScenarios } from '../e2e/routed-conflicts.scenario.ts';

routedConflictScenarios();
