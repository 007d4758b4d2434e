import { hostileModeScenarios } from '../e2e/hostile-modes.scenario.ts';

hostileModeScenarios();
