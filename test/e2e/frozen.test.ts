import { frozenScenarios } from './frozen.scenario.ts';

frozenScenarios();
