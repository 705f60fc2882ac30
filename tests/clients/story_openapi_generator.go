// The README's story by the client of openapi-generator for Go: `story BASE_URL API_KEY` prints what it saw.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	api "licensing"
)

func got[T any](reply T, _ *http.Response, err error) T {
	if err != nil {
		if refused, ok := err.(*api.GenericOpenAPIError); ok {
			panic(fmt.Sprintf("%v: %s", err, refused.Body()))
		}
		panic(err)
	}
	return reply
}

// converted turns what a reply shows into what a request takes: only replies may have values that are not known yet.
func converted[T any](value any) (result T) {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &result)
	}
	if err != nil {
		panic(err)
	}
	return result
}

func main() {
	settings := api.NewConfiguration()
	settings.Servers = api.ServerConfigurations{{URL: os.Args[1]}}
	settings.AddDefaultHeader("Authorization", "Bearer "+os.Args[2])
	client := api.NewAPIClient(settings)
	ctx := context.Background()

	wanted := api.NewContentRequest("Markets")
	wanted.SetExternalId("my-first")
	item := got(client.ContentAPI.CreateContent(ctx).ContentRequest(*wanted).Execute())

	licensed := api.NewConditions()
	licensed.SetLicenseType(api.ArrayOfStringAsConditionsLicenseType(&[]string{"commercial"}))
	licensed.SetHasValidLicense(true)
	allow := api.NewAllowRule("allow", *licensed)
	allow.SetPriority(1)
	allow.SetPermissions([]string{"full_access"})
	always := api.NewConditions()
	always.SetDefault(true)
	deny := api.NewDenyRule("deny", *always)
	deny.SetPriority(99)
	deny.SetMessage("Buy a licence.")
	rules := api.NewPolicyRequest("Licensed only")
	rules.SetRules([]api.Rule{api.AllowRuleAsRule(allow), api.DenyRuleAsRule(deny)})
	policy := got(client.PoliciesAPI.CreatePolicy(ctx).PolicyRequest(*rules).Execute())

	// What was read can be written back.
	read := got(client.PoliciesAPI.GetPolicy(ctx, policy.Id).Execute())
	change := api.NewPatchedPolicyRequest()
	change.SetName("Licensed")
	change.SetRules(converted[[]api.Rule](read.Rules))
	again := got(client.PoliciesAPI.UpdatePolicy(ctx, policy.Id).PatchedPolicyRequest(*change).Execute())

	linked := api.NewPatchedContentRequest()
	linked.SetPolicyId(policy.Id)
	got(client.ContentAPI.UpdateContent(ctx, item.Id).PatchedContentRequest(*linked).Execute())

	ask := func(requester api.CheckRequester) *api.Decision {
		check := api.NewCheck(requester)
		check.SetExternalId("my-first")
		check.SetPermission("commercial_use")
		from := api.NewContext()
		from.SetIp("203.0.113.9")
		check.SetContext(*from)
		return got(client.AccessAPI.CheckAccess(ctx).Check(*check).Execute())
	}
	acme, globex := "org_acme", "org_globex"
	denied := ask(api.CheckRequester{String: &acme})
	vouched := api.NewRequester(acme)
	vouched.SetLicenseType("commercial")
	vouched.SetHasValidLicense(true)
	allowed := ask(api.CheckRequester{Requester: vouched})

	amount := 0.05
	licence := api.NewLicenseRequest(globex, "commercial")
	licence.SetPricePerAccess(*api.NewMoneyRequest(api.Float64AsMoneyRequestAmount(&amount), api.CURRENCY_USD))
	got(client.LicensesAPI.CreateLicense(ctx).LicenseRequest(*licence).Execute())
	charged := ask(api.CheckRequester{String: &globex})
	report := got(client.AnalyticsAPI.GetRevenueReport(ctx).Period("7d").Execute())

	kinds := []api.ContentType{api.CONTENTTYPE_ARTICLE, api.CONTENTTYPE_REPORT}
	found := got(client.ContentAPI.ListContent(ctx).TypeIn(kinds).CreatedGte("2026-01-01").Limit(20).Execute())
	titles := []string{}
	for _, one := range found.Data {
		titles = append(titles, one.Title)
	}
	endpoint := api.NewWebhookEndpointRequest("https://example.com/hook")
	endpoint.SetEvents([]api.EventPattern{api.EVENTPATTERN_LICENSE})
	hook := got(client.WebhookEndpointsAPI.CreateWebhook(ctx).WebhookEndpointRequest(*endpoint).Execute())
	_, _, refused := client.ContentAPI.GetContent(ctx, "cnt_unknown").Execute()
	missing := refused.(*api.GenericOpenAPIError).Model().(api.Error)

	json.NewEncoder(os.Stdout).Encode(map[string]any{
		"rules":   again.Rules, // as they were read and written back
		"denied":  []any{denied.Allowed, denied.Reason.Get()},
		"allowed": []any{allowed.Allowed, allowed.Permissions},
		"charge":  charged.Charge.Get(),
		"total":   report.Summary.Total,
		"found":   titles,
		"hook":    hook.Events,
		"missing": missing.Error.Code,
	})
}
