import { handoverScenarios } from './handover.scenario.ts';

handoverScenarios();
