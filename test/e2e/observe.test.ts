import { observeScenarios } from './observe.scenario.ts';

observeScenarios();
