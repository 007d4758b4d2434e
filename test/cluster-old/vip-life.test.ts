import { vipLifeScenarios } from '../e2e/vip-life.scenario.ts';

vipLifeScenarios();
