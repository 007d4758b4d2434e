import { routedConflictScenarios } from './routed-conflicts.scenario.ts';

routedConflictScenarios();
