import { handoverScenarios } from '../e2e/handover.scenario.ts';

handoverScenarios();
