import { vipScenarios } from './vip.scenario.ts';

vipScenarios();
