import { vipJudgedScenarios } from './vip-judged.scenario.ts';

vipJudgedScenarios();
