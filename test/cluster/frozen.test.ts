import { frozenScenarios } from '../e2e/frozen.scenario.ts';

frozenScenarios();
