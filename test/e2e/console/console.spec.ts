import { addressStories } from './address-stories';
import { ConsoleScene, describeInBrowser } from './console-scene';
import { failureStories } from './failure-stories';
import { integrationStories } from './integration-stories';
import { operatorStories } from './operator-stories';
import { everyPage } from './pages';
import { patienceStories } from './patience-stories';
import { readingStories } from './reading-stories';
import { returnStories } from './return-stories';
import { sessionStories } from './session-stories';
import { supportStories } from './support-stories';
import { tenantStories } from './tenant-stories';
import { writingStories } from './writing-stories';

/** In a browser, on a real service with real mail: one for all of it, as both take seconds to start. */
describeInBrowser('the console', () => {
  let scene: ConsoleScene;
  beforeAll(async () => {
    scene = await ConsoleScene.start();
  });
  afterAll(() => scene.close());
  afterEach(async () => {
    await scene.closePages();
    expect(scene.complaints.splice(0)).toEqual([]);
  });

  describe('for those who send', () => tenantStories(() => scene));
  describe('for those who integrate', () => integrationStories(() => scene));
  describe('for those who answer questions', () => supportStories(() => scene));
  describe('when something fails', () => failureStories(() => scene));
  describe('when data is old or late', () => readingStories(() => scene));
  describe('when people do not wait', () => patienceStories(() => scene));
  describe('when people follow links', () => addressStories(() => scene));
  describe('when people return', () => returnStories(() => scene));
  describe('when sessions end', () => sessionStories(() => scene));
  describe('when something is written', () => writingStories(() => scene));
  describe('for operators', () => operatorStories(() => scene));
  describe('on every page', () => everyPage(() => scene));
});
