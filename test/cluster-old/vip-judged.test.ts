import { vipJudgedScenarios } from '../e2e/vip-judged.scenario.ts';

vipJudgedScenarios();
