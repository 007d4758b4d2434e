import { addressTypesScenarios } from './address-types.scenario.ts';

addressTypesScenarios();
