import { cutOffScenarios } from '../e2e/cut-off.scenario.ts';

cutOffScenarios();
