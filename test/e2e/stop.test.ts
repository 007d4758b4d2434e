import { stopScenarios } from './stop.scenario.ts';

stopScenarios();
