import { providerScenarios } from '../e2e/provider.scenario.ts';

providerScenarios();
