import { flipopScenarios } from './flipop.scenario.ts';

flipopScenarios();
