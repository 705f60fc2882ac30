// The README's story by the client of openapi-generator for Java: `Story BASE_URL API_KEY` prints what it saw.
import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

class Story {
  private final AccessApi access;

  Story(AccessApi access) {
    this.access = access;
  }

  Decision ask(CheckRequester requester) throws ApiException {
    Check check = new Check().requester(requester).externalId("my-first").permission("commercial_use");
    return access.checkAccess(check.context(new Context().ip("203.0.113.9")), null);
  }

  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(arguments[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + arguments[1]));
    ContentApi content = new ContentApi(client);
    PoliciesApi policies = new PoliciesApi(client);
    Story story = new Story(new AccessApi(client));

    Content item = content.createContent(new ContentRequest().title("Markets").externalId("my-first"), null);
    LicenseTypes commercial = new LicenseTypes();
    commercial.add("commercial");
    Conditions licensed = new Conditions().licenseType(new ConditionsLicenseType(commercial)).hasValidLicense(true);
    AllowRule allow = new AllowRule().action(AllowRule.ActionEnum.ALLOW).priority(1).conditions(licensed);
    allow.addPermissionsItem("full_access");
    DenyRule deny = new DenyRule().action(DenyRule.ActionEnum.DENY).priority(99).message("Buy a licence.");
    deny.conditions(new Conditions()._default(Conditions.DefaultEnum.TRUE));
    PolicyRequest wanted = new PolicyRequest().name("Licensed only").rules(List.of(new Rule(allow), new Rule(deny)));
    Policy policy = policies.createPolicy(wanted, null);

    // What was read can be written back.
    Policy read = policies.getPolicy(policy.getId(), null, null);
    PatchedPolicyRequest change = new PatchedPolicyRequest().name("Licensed");
    // Only replies may have values that are not known yet, so they have types of their own.
    for (RuleShown rule : read.getRules()) change.addRulesItem(client.getObjectMapper().convertValue(rule, Rule.class));
    Policy again = policies.updatePolicy(policy.getId(), change, null);
    content.updateContent(item.getId(), new PatchedContentRequest().policyId(policy.getId()), null);

    Decision denied = story.ask(new CheckRequester("org_acme"));
    Requester vouched = new Requester().id("org_acme").licenseType("commercial").hasValidLicense(true);
    Decision allowed = story.ask(new CheckRequester(vouched));
    MoneyRequest price = new MoneyRequest().amount(new MoneyRequestAmount(new BigDecimal("0.05"))).currency(Currency.USD);
    LicenseRequest licence = new LicenseRequest().requesterId("org_globex").licenseType("commercial").pricePerAccess(price);
    new LicensesApi(client).createLicense(licence, null);
    Decision charged = story.ask(new CheckRequester("org_globex"));
    RevenueReport report = new AnalyticsApi(client).getRevenueReport(null, null, null, "7d", null, null, null);

    PaginatedContentList found =
        content.listContent(
            ContentApi.APIListContentRequest.newBuilder()
                .typeIn(List.of(ContentType.ARTICLE, ContentType.REPORT))
                .createdGte("2026-01-01")
                .limit(20)
                .build());
    WebhookEndpointRequest endpoint = new WebhookEndpointRequest().url(URI.create("https://example.com/hook"));
    endpoint.addEventsItem(EventPattern.LICENSE_);
    Secret hook = new WebhookEndpointsApi(client).createWebhook(endpoint, null);
    JsonNode missing = null;
    try {
      content.getContent("cnt_unknown", null, null, null);
    } catch (ApiException refused) {
      missing = client.getObjectMapper().readTree(refused.getResponseBody());
    }

    Map<String, Object> saw =
        Map.of(
            "rules", again.getRules(), // as they were read and written back
            "denied", List.of(denied.getAllowed(), denied.getReason()),
            "allowed", List.of(allowed.getAllowed(), allowed.getPermissions()),
            "charge", charged.getCharge(),
            "total", report.getSummary().getTotal(),
            "found", found.getData().stream().map(Content::getTitle).toList(),
            "hook", hook.getEvents(),
            "missing", missing.at("/error/code"));
    System.out.println(client.getObjectMapper().writeValueAsString(saw));
  }
}
