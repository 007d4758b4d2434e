import { largeScenarios } from '../e2e/large.scenario.ts';

largeScenarios();
