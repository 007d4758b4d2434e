import { inventoryScenarios } from '../e2e/inventory.scenario.ts';

inventoryScenarios();
