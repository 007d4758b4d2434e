import { inputScenarios } from './input.scenario.ts';

inputScenarios();
