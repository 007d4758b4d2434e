import { limitScenarios } from '../e2e/limits.scenario.ts';

limitScenarios();
