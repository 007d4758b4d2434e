import { largeScenarios } from './large.scenario.ts';

largeScenarios();
