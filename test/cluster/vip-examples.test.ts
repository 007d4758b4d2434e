import { vipExampleScenarios } from '../e2e/vip-examples.scenario.ts';

vipExampleScenarios();
