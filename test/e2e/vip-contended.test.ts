import { vipContendedScenarios } from './vip-contended.scenario.ts';

vipContendedScenarios();
