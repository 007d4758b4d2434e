import { vipRaceScenarios } from './vip-race.scenario.ts';

vipRaceScenarios();
