import { cutOffScenarios } from './cut-off.scenario.ts';

cutOffScenarios();
