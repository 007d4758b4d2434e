import { recreatedScenarios } from './recreated.scenario.ts';

recreatedScenarios();
