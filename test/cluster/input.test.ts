import { inputScenarios } from '../e2e/input.scenario.ts';

inputScenarios();
