import { providerScenarios } from './provider.scenario.ts';

providerScenarios();
