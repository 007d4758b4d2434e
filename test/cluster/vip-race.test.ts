import { vipRaceScenarios } from '../e2e/vip-race.scenario.ts';

vipRaceScenarios();
