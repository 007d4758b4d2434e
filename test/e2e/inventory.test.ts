import { inventoryScenarios } from './inventory.scenario.ts';

inventoryScenarios();
