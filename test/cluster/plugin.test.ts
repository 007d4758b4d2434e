import { pluginScenarios } from '../e2e/plugin.scenario.ts';

pluginScenarios();
