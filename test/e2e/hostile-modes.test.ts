import { hostileModeScenarios } from './hostile-modes.scenario.ts';

hostileModeScenarios();
