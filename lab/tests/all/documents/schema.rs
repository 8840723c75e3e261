//! The JSON Schema holds for real documents, and says what is measured.

use crate::documents::samples;
use serde_json::{Value, json};

fn schema() -> Value {
    serde_json::from_str(&brisk_report::schema(brisk_lab::results::ALL_KINDS)).expect("JSON")
}

/// The part of the schema that a reference names.
fn resolved<'a>(root: &'a Value, part: &'a Value) -> &'a Value {
    match part["$ref"].as_str() {
        Some(path) => root.pointer(path.trim_start_matches('#')).expect("a definition"),
        None => part,
    }
}

/// What of a value its schema does not allow or, if all fields of the value have to be known, does not describe: the
/// words of JSON Schema that this one uses.
fn wrong(root: &Value, part: &Value, value: &Value, at: &str, all: bool) -> Vec<String> {
    let part = resolved(root, part);
    let branches: Vec<&Value> = ["oneOf", "anyOf"].iter().filter_map(|word| part[word].as_array()).flatten().collect();
    // An enum that is flattened into a struct shares its object with the fields of the struct.
    let is_flat = part["properties"].is_object();
    let of_branches = branches.iter().map(|branch| wrong(root, branch, value, at, all && !is_flat));
    if let Some(found) = of_branches.min_by_key(Vec::len).filter(|found| !found.is_empty()) {
        return found;
    }
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    };
    let fits = match &part["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    };
    let is_listed = part["enum"].as_array().is_none_or(|values| values.contains(value));
    if !fits || !is_listed || !(part["const"].is_null() || part["const"] == *value) {
        return vec![format!("{at}: {value}")];
    }
    let mut found = Vec::new();
    if let Value::Array(values) = value {
        let items = |i: usize| part["prefixItems"].get(i).unwrap_or(&part["items"]);
        let of = |(i, one)| wrong(root, items(i), one, &format!("{at}[{i}]"), true);
        found.extend(values.iter().enumerate().flat_map(of));
    }
    if let Value::Object(fields) = value
        && (is_flat || branches.is_empty())
    {
        let required = part["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        found.extend(required.filter(|name| !fields.contains_key(*name)).map(|name| format!("{at}.{name} is missing")));
        let is_in_branch =
            |name: &str| branches.iter().any(|one| resolved(root, one)["properties"].get(name).is_some());
        for (name, one) in fields {
            let at = format!("{at}.{name}");
            match part["properties"].get(name).or(part.get("additionalProperties")) {
                Some(part) => found.extend(wrong(root, part, one, &at, true)),
                None if all && !is_in_branch(name) => found.push(format!("{at} is not described")),
                None => {}
            }
        }
    }
    found
}

/// What of a document the schema does not allow or describe.
fn wrong_in(root: &Value, document: &Value) -> Vec<String> {
    let is_of_kind = |part: &&Value| part["properties"]["kind"]["const"] == document["kind"];
    let of_kind = root["oneOf"].as_array().expect("kinds").iter().find(is_of_kind).expect("each kind is in the schema");
    // The kind stands beside a reference to the report.
    let mut report = resolved(root, of_kind).clone();
    report["properties"]["kind"] = of_kind["properties"]["kind"].clone();
    wrong(root, &report, document, "document", true)
}

#[test]
fn every_document_is_valid_by_the_schema() {
    let root = schema();
    for document in samples::all() {
        let value = serde_json::to_value(&document).expect("JSON");
        assert_eq!(wrong_in(&root, &value), [""; 0], "{}", document.kind());
    }
}

#[test]
fn a_document_with_a_wrong_field_is_not_valid() {
    let (root, document) = (schema(), serde_json::to_value(&samples::all()[0]).expect("JSON"));
    for (name, value) in [("duration_s", json!("long")), ("unheard_of", json!(1)), ("warnings", json!([1]))] {
        let mut document = document.clone();
        document[name] = value;
        assert_eq!(wrong_in(&root, &document).len(), 1, "{name}");
    }
    let mut document = document;
    document.as_object_mut().expect("an object").remove("seed");
    assert_eq!(wrong_in(&root, &document), ["document.seed is missing"]);
}

/// All fields with a measure, and their measures.
fn measured<'a>(part: &'a Value, found: &mut Vec<(&'a str, &'a Value)>) {
    if let Value::Object(fields) = part {
        if let Some(properties) = part["properties"].as_object() {
            let with = properties.iter().filter(|(_, field)| !field["measure"].is_null());
            found.extend(with.map(|(name, field)| (name.as_str(), &field["measure"])));
        }
        fields.values().for_each(|part| measured(part, found));
    }
}

#[test]
fn a_measured_field_ends_in_the_unit_of_its_measure() {
    let root = schema();
    let mut found = Vec::new();
    measured(&root, &mut found);
    assert!(found.len() > 50, "{found:?}");
    for (field, measure) in found {
        let unit = measure["unit"].as_str().expect("a unit");
        let of_ratio = unit == "ratio" && ["slowdown", "speedup", "ratio"].iter().any(|word| field.contains(word));
        assert!(of_ratio || format!("_{field}_").contains(&format!("_{unit}_")), "{field}: {measure}");
        assert!(["lower", "higher", "neither"].contains(&measure["better"].as_str().expect("judged")), "{field}");
    }
}
