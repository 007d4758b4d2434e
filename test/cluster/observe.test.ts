import { observeScenarios } from '../e2e/observe.scenario.ts';

observeScenarios();
