import { flipopScenarios } from '../e2e/flipop.scenario.ts';

flipopScenarios();
