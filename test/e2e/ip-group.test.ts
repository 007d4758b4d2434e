import { ipGroupScenarios } from './ip-group.scenario.ts';

ipGroupScenarios();
