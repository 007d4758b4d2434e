import { restoreScenarios } from '../e2e/restore.scenario.ts';

restoreScenarios();
