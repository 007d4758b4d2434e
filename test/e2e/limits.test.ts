import { limitScenarios } from './limits.scenario.ts';

limitScenarios();
