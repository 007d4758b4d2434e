import { pluginScenarios } from './plugin.scenario.ts';

pluginScenarios();
