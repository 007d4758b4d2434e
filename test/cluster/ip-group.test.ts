import { ipGroupScenarios } from '../e2e/ip-group.scenario.ts';

ipGroupScenarios();
