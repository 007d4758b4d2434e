import { vipLifeScenarios } from './vip-life.scenario.ts';

vipLifeScenarios();
