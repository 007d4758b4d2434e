import { addressTypesScenarios } from '../e2e/address-types.scenario.ts';

addressTypesScenarios();
