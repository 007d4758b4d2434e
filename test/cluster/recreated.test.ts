import { recreatedScenarios } from '../e2e/recreated.scenario.ts';

recreatedScenarios();
