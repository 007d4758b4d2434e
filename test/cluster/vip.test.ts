import { vipScenarios } from '../e2e/vip.scenario.ts';

vipScenarios();
