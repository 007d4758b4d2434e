import { vipExampleScenarios } from './vip-examples.scenario.ts';

vipExampleScenarios();
