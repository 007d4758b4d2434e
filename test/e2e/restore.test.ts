import { restoreScenarios } from './restore.scenario.ts';

restoreScenarios();
