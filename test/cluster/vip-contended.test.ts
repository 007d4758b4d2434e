import { vipContendedScenarios } from '../e2e/vip-contended.scenario.ts';

vipContendedScenarios();
